package dev.interlock.tck.fault;

import java.net.InetSocketAddress;

/** An error that a Redis server returns instead of executing a command. */
public enum RedisError {
  /** The server is loading its data after a restart. */
  LOADING("LOADING Redis is loading the dataset in memory"),
  /** A script of another client takes too long. */
  BUSY("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
  /** The user's permissions have been taken away. */
  NOPERM("NOPERM this user has no permissions to run the '%1$s' command"),
  /** The server has become a replica. */
  READONLY("READONLY You can't write against a read only replica."),
  /** Another node serves the slot; here the error names the same address. */
  MOVED("MOVED 866 %2$s:%3$s"),
  /** The slot is being moved to another node; here the error names the same address. */
  ASK("ASK 866 %2$s:%3$s");

  private final String format;

  RedisError(String format) {
    this.format = format;
  }

  /** {@return the error in the protocol's form, without its frame} */
  String answerTo(String command, InetSocketAddress address) {
    String error =
        String.format(format, command, address.getAddress().getHostAddress(), address.getPort());
    boolean redirects = this == MOVED || this == ASK;
    return command.equalsIgnoreCase("EXEC") && !redirects
        ? "EXECABORT Transaction discarded because of: " + error
        : error;
  }
}
