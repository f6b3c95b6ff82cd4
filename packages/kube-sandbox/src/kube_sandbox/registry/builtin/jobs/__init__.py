"""Strategies of Jobs and CronJobs."""
