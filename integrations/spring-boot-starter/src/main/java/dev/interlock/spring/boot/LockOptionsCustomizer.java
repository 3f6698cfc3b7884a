package dev.interlock.spring.boot;

import dev.interlock.LockOptions;

/**
 * Changes the options of the client that the starter makes, after the properties {@code
 * interlock.*} have been applied. All beans of this type are called, in their order, once, before
 * the client is opened.
 */
@FunctionalInterface
public interface LockOptionsCustomizer {

  /**
   * Changes the options.
   *
   * @param options a builder that has the options so far
   */
  void customize(LockOptions.Builder options);
}
