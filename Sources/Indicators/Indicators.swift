// Indicators
