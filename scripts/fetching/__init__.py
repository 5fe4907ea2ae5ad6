"""What the fetch scripts share: a polite client, downloads that are verified and go on, and what the user is told."""
