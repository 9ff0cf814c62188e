"""A workflow killed at random times again and again makes the same files as an unbroken one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from workflow import ROOT

KILLS = os.environ.get("CANOPY_TEST_CHAOS", "")


@pytest.mark.e2e
@pytest.mark.skipif(not KILLS, reason="takes minutes: CANOPY_TEST_CHAOS=20 is the number of kills")
def test_killed_at_random_times_the_workflow_makes_the_same_files(finished: Path) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--kills", KILLS, "--seed", "1", "--finished", str(finished)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    report = json.loads(done.stdout)
    print(done.stdout)
    assert report["kills"] == int(KILLS) and report["finished"] >= 1
    assert report["differing"] == [] and report["parts_lost"] == 0
