"""The weights of `bot.asking_head`, in half precision. Written by scripts/asking_head.py."""

from typing import Final

BIAS: Final = -0.0782
WEIGHTS: Final = (
    "tVHp{!M<j~-oO3CxkT?k9=^3bS+)E;jKq^X&_N$LsY4pW<h;g4^SvQL!!0X5Cqt~heLUbgY&e5FpEv<ULp5f*nmJ57u0D4}u",
    "|$czmps?Q<Uj_+m&4t(xH$sHy+#{4^E?8*OUFgNA4hRMd%z__-bBT|+qm60AU*j<C%el?h(UP80<bg1;5HS;%tqY8MZ|B!MZ",
    "Ltu6u`N~-oD2}vPB*|bU2u=Ii?mmF}bG3k38=<jlgg`PQI(c)k6EikwBe7(88`fqB<eSs=*CBgue2=q&EpXX|yawaKUawNkm",
    "}1utPRL6~Ifp7e;bGWx+(j1iy>Np+A)|qQ?n93c<#-nM1fdIyyB#JH$sthdpk^(!wIbhCgz}xt(LU|3r+wTta<7xwte#$2@m",
    "M#Jv>0d_cfMOvHV^&AaEkOhcS9(mE`(lfW>;Ajr$Utw!2HRkaF4FgTUL@WgmLp+Dcjy2Hf7J3v-J3&bu!U_`?}-onwmnZHLq",
    "{k{=I0Xz@CWJeA|OuZO2eL-_Y6ue|YzODYdct-)iX2I4#KsCI)yFy{YdO&T%nY0$ZqQK`o+`_5ED?=#2oWXuXwYIiD+dqoM#",
    "=TTD=SFKoAUPStIlhWAq`PLqd9>@sIYCIpjK$@|qe$aJQ@zK*GQg+1j4ixA39=VGKtw`Bqr@LTc)cP#<wh7jr?nHpaI)OQEI",
    "yUK2S!Xo=DPkzyuj5m5X4tBdAS}uc|^a!PCQA&@IJM<+Ce+O^g_P89l=t=G{ynJdqA8(^}dxv2}B~qen~>ew#64jJT$UGgTv",
    "Ot3&4IpNw_pREJl4i>^w9+EJ4LY2E?7cu{bI;>phji3Pq1ZT03Ptu)<F`kG9sp`9vVb^}xfv^T9DdEI1s(Q$UA5JwQ0d&ay<",
    "obHZH3+BYP-N5BciNJN~(1IDMl2tkX)ud&2IvpthPm%OpO*1+YkD?|@FpS&5p<F)uX;<b)9MMV2VTr^EVdOcOTrbKYHl*1^#",
)
