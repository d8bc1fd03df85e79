"""Fixtures of the stories' tests."""

from __future__ import annotations

import pytest

from tests.works.story.extractor import Service
from tests.works.story.writer import Writer


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def service() -> Service:
    return Service()
