"""Pure code that every bridge uses: Kueue state to capacity, effects, naming, rendering, conditions."""
