/** For tests of code that uses Interlock: a store that fails on demand, and a clock set by hand. */
module dev.interlock.testing {
  requires transitive dev.interlock.api;

  exports dev.interlock.testing;
}
