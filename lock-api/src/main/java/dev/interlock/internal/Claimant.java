package dev.interlock.internal;

/** What has a claim: first the contest that makes the attempt, then the turn that it has won. */
sealed interface Claimant permits Contest, Turn {}
