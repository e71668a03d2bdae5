"""No request of these tests goes through a proxy that the environment names: their servers are on the loopback."""

import os

for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]
