"""Opens what `[storage] files` names: the data folder, another folder, or a store on other machines."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.config.text import of_address, without_credentials
from bot.events import UserError
from storage.files import FOLDERS, PART, Folder

if TYPE_CHECKING:
    from bot.config import Config
    from storage.files import Files

PASSING: Final = "passing"
"""The folder in the data folder for files on their way to a store or from it."""

ORIGINALS, _ = FOLDERS

_DRIVER_PREFIXES: Final = ("AWS_", "AZURE_", "GOOGLE_", "FSSPEC_")
"""How the environment variables begin that the drivers of file stores read."""


def keeps_files(url: str) -> bool:
    """Whether an address names a place for files; that place may need a package that is not installed."""
    protocol, cut, _ = url.partition("://")
    if not cut:
        return url == "folder"
    if find_spec("fsspec") is None:
        return protocol in ("file", "s3")
    from storage.objects import protocols

    return protocol in protocols()


def file_store(config: Config, *, alone: bool = False, hasty: bool = False) -> Files:
    """The file store of these settings; blocking, but does not access the store. Raises UserError.

    `alone`: the caller has locked the data folder, so half-written files there are from a process that was killed.
    `hasty`: failed operations are not retried.
    """
    url = config.storage.files
    if url == "folder":
        if alone:
            for part in (config.data_dir / ORIGINALS).glob(f"*{PART}"):
                part.unlink(missing_ok=True)
        return Folder(config.data_dir)
    if url.startswith("file:"):
        return Folder(Path(of_address(url)), shared=True)
    from storage.objects import NoDriver, opened

    passing = config.data_dir / PASSING
    if alone:
        shutil.rmtree(passing, ignore_errors=True)
    try:
        return opened(url, passing, config.secrets.of_dotenv(*_DRIVER_PREFIXES), hasty=hasty)
    except NoDriver as error:
        raise UserError(
            "storage.files_driver", package=error.package, url=without_credentials(url)
        ) from error
    except (ValueError, TypeError) as error:
        raise UserError("storage.files_url", url=without_credentials(url), reason=str(error)) from error
