package dev.interlock.spring.boot;

import dev.interlock.LockOptions;

/**
 * Changes the options of the starter's client, after the properties {@code interlock.*} have been
 * applied. All beans of this type are called once, in their order, before the client is opened.
 */
@FunctionalInterface
public interface LockOptionsCustomizer {

  /**
   * Changes the options.
   *
   * @param options a builder with the current options
   */
  void customize(LockOptions.Builder options);
}
