"""The weights of `bot.asking_head`, in half precision. Written by scripts/asking_head.py."""

from typing import Final

BIAS: Final = -2.3375
WEIGHTS: Final = (
    "*Rh7gZNRR<JHcbc%|%p0;J%eTF1kEG)x@AeXh5ey2t@P6+qn!z=)ki$p1UbD07R%Odc3H=qqsdk6EYP?u(*xH%DX%}mOUCp4",
    "?$7CvO&W;`$JE~y137|AiqDwU`69Wy+FM@&cu;G%SYO~UBR<M%sq3#_P7MVOS^7IV#EnZ=t646g|)=GfxuG6utZ$Jb-<y;Cp",
    "1~b55vU83%q_s_CRqy2|-alO+DE}x-oCXkv&p7cEc`4fW1h@KSq$mYeC#X3c_hZ?>(Z(7RTo`g~H{-%DUJ<@4>l5Ld7UH#z1",
    "kn@I(Vb&b}_T1xU>`^tN!pTQ{P|1UcKdgT}h6BEa~va6zp;wkU2yW5vZp$UQyAsKnjFQ9rcCzOK@}>qlS0Rz*!c9J#tdh`n+",
    ">;lc~P$iSFE566zeq(0?5m_#tcPdPd@8oT+x?Z;lgF+@Q_XE{|uCp;m+L&nZLWI&w5l)@9kQ$+GXmBh=u1vaEdHN>Mm!o8J4",
    "5yaR<D>qoinnq+qRlr$6?LcftQ@jE~bUcZ@Cq|Dtm%%+kL%NT=z(b(I^g#x}EjQl1p1wCU88R=#PC+)r3B0sD6+R9{dqX(Hu",
    "QWWk&`373T|hR)12(|AM!%E8L%w;$)<A&A8O2Y=lSt}7L%jyX)W2G|6ubdGIY1FQxkpz#aKZVxw!Hi~3`GG$@H`;C9JyJ*W-",
    "8OcB1C>etG|dwNx<1WGQkY2vcLjDHbl(4?l>gG=`;4g)<g8Y!!-4`yt=)>&c*@6qComWhPWq2SU{P-)JRvzm&C6|m9(uvw8Q",
    "?ujJ+^J`#lgpO+_&{kvxdDMm+65!^26vwY)MtFhsq=l105jk~uOx-NWiP^Ewm4CP%8oU&5QbjKZ%&SUY6BU_wSYt~@Hm4MJ!",
    "$YrzG^b3QdJy*;PJlRZbX%Ee5>rL8=}y1<4$ggeAP@Vd!8Ji{O}Vn;JRF1^FOk~w=mez_;T;6Qgq;<J`S&Ag|-Hb*wKh{Pa2",
)
