"""The client of this package: OpenEnv's own, whose actions are `{"command": ...}`."""

from openenv.core.generic_client import GenericEnvClient as NatLangEnv

__all__ = ["NatLangEnv"]
