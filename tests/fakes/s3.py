"""S3 over loopback HTTP: objects, listings and copies with signed requests, as far as drivers need them.

Like S3 it refuses a wrong signature or key, and a missing bucket.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote
from xml.sax.saxutils import escape, unescape

from aiohttp import web

KEY, SECRET, REGION = "AKIDLOOPBACK", "not-a-secret", "us-east-1"
_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass
class FakeS3:
    """A fake S3. `fault` may answer a request instead of the service."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fault: Callable[[web.Request], web.StreamResponse | None] | None = None
    bucket: str = "bucket"

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables for drivers."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path_qs}")
        body = await request.read()
        if self.fault is not None and (answer := self.fault(request)) is not None:
            return answer
        if not _signed(request, body):
            return _error(403, "SignatureDoesNotMatch")
        bucket, _, key = request.path.lstrip("/").partition("/")
        if bucket != self.bucket:
            return _error(404, "NoSuchBucket")
        if request.method == "GET" and not key:
            return self._list(request)
        if request.method == "POST" and not key and "delete" in request.query:
            names = re.findall("<Key>(.*?)</Key>", body.decode())
            for name in names:
                self.objects.pop(unescape(name), None)
            deleted = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            return _answer("DeleteResult", deleted)
        if "uploads" in request.query or "uploadId" in request.query:
            return self._upload(request, key, body)
        if request.method == "PUT":
            self.objects[key] = body
            return web.Response(headers={"ETag": _etag(body)})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return web.Response(status=204)
        if key not in self.objects:
            return _error(404, "NoSuchKey")
        return _object(request, self.objects[key])

    def _upload(self, request: web.Request, key: str, body: bytes) -> web.Response:
        """Store an object uploaded in parts; it exists once all have arrived."""
        id = request.query.get("uploadId") or f"upload-{len(self.uploads)}"
        if request.method == "POST" and "uploads" in request.query:
            self.uploads[id] = {}
            return _answer("InitiateMultipartUploadResult", f"<UploadId>{id}</UploadId>")
        if request.method == "PUT":
            self.uploads[id][int(request.query["partNumber"])] = body
            return web.Response(headers={"ETag": _etag(body)})
        parts = self.uploads.pop(id)
        if request.method == "DELETE":
            return web.Response(status=204)
        self.objects[key] = b"".join(data for _, data in sorted(parts.items()))
        etag = escape(_etag(self.objects[key]))
        return _answer("CompleteMultipartUploadResult", f"<ETag>{etag}</ETag>")

    def _list(self, request: web.Request) -> web.Response:
        prefix, delimiter = request.query.get("prefix", ""), request.query.get("delimiter", "")
        contents, folders = [], set()
        for key in sorted(key for key in self.objects if key.startswith(prefix)):
            inside, cut, _ = key.removeprefix(prefix).partition(delimiter) if delimiter else (key, "", "")
            if cut:
                folders.add(prefix + inside + delimiter)
            else:
                contents.append(
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[key])}</Size>"
                    "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                    f"<ETag>{escape(_etag(self.objects[key]))}</ETag></Contents>"
                )
        prefixes = [
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders)
        ]
        head = f"<Name>{self.bucket}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
        return _answer("ListBucketResult", "".join([head, *contents, *prefixes]))


@asynccontextmanager
async def serving() -> AsyncIterator[FakeS3]:
    fake = FakeS3()
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", fake.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await runner.cleanup()


def _object(request: web.Request, data: bytes) -> web.Response:
    headers = {
        "ETag": _etag(data),
        "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT",
        "Accept-Ranges": "bytes",
    }
    status, part = 200, data
    if request.headers.get("Range"):
        piece = request.http_range
        part = data[piece]
        first = piece.start or 0
        status, headers["Content-Range"] = 206, f"bytes {first}-{first + len(part) - 1}/{len(data)}"
    if request.method == "HEAD":
        return web.Response(headers={**headers, "Content-Length": str(len(data))})
    return web.Response(status=status, body=part, headers=headers)


def _answer(kind: str, content: str) -> web.Response:
    text = f'<?xml version="1.0"?><{kind} xmlns="{_NAMESPACE}">{content}</{kind}>'
    return web.Response(text=text, content_type="application/xml")


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def _error(status: int, code: str) -> web.Response:
    text = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return web.Response(status=status, text=text, content_type="application/xml")


def _signed(request: web.Request, body: bytes) -> bool:
    """Whether the request bears the signature, version 4, of our key:
    https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
    """
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
    if scheme != "AWS4-HMAC-SHA256" or not {"Credential", "SignedHeaders", "Signature"} <= parts.keys():
        return False
    key, date, region, service, last = parts["Credential"].split("/")
    payload = request.headers["x-amz-content-sha256"]
    if payload not in (hashlib.sha256(body).hexdigest(), "UNSIGNED-PAYLOAD"):
        return False
    headers = [f"{name}:{request.headers[name].strip()}\n" for name in parts["SignedHeaders"].split(";")]
    query = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in request.query.items())
    canonical = "\n".join([
        request.method,
        quote(request.path, safe="/~"),
        "&".join(f"{name}={value}" for name, value in query),
        "".join(headers),
        parts["SignedHeaders"],
        payload,
    ])  # fmt: skip
    scope = f"{date}/{region}/{service}/{last}"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{request.headers['x-amz-date']}\n{scope}\n{digest}"
    signing = f"AWS4{SECRET}".encode()
    for part in (date, region, service, last, text):
        signing = hmac.new(signing, part.encode(), hashlib.sha256).digest()
    return key == KEY and hmac.compare_digest(signing.hex(), parts["Signature"])
