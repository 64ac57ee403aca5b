"""Which server the socket tests judge: ours, unless another one is named."""

import os
import sys

SERVICE = os.environ.get("STRONGROOM_TEST_SERVER", f"{sys.executable} -m strongroom.cli serve")
APPLICATION = os.environ.get("STRONGROOM_TEST_APPLICATION", f"{sys.executable} -m tests.http.small_application")
