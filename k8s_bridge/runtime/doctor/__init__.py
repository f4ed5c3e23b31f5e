"""What the doctors of both bridges share: verdicts, what may stay hidden, and looks at any cluster."""
