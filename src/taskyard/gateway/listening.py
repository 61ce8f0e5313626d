"""What the protocols of the listening socket know of the gateway that they serve."""

import uvicorn

from taskyard.gateway.door import Door


class GatewayConfig(uvicorn.Config):
    door: Door
