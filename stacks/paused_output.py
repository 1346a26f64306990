"""How a stack says what it leaves out; apart from stacks/paused.py, which is read without CDK."""

from aws_cdk import CfnOutput, Stack

from stacks.paused import OUTPUT, Paused


def add_paused_output(stack: Stack, paused: Paused) -> None:
    """Write into a stack's outputs that, and how much of it, is left out."""
    if paused is not Paused.NOTHING:
        CfnOutput(stack, OUTPUT, value=paused.value)
