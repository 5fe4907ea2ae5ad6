"""What every server of the assistant needs: places and queues, and how it says no."""
