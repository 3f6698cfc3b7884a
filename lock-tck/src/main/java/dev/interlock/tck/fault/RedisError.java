package dev.interlock.tck.fault;

import java.net.InetSocketAddress;

/** An error with which a Redis server answers a command that it does not execute. */
public enum RedisError {
  /** The server has been restarted, and reads its data. */
  LOADING("LOADING Redis is loading the dataset in memory"),
  /** Somebody's script takes too long. */
  BUSY("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
  /** The user's permissions have been taken away. */
  NOPERM("NOPERM this user has no permissions to run the '%1$s' command"),
  /** The server has become a replica. */
  READONLY("READONLY You can't write against a read only replica."),
  /** The slot is served by another node; here it is said to be that of the same address. */
  MOVED("MOVED 866 %2$s:%3$d"),
  /** The slot is being moved to another node; likewise. */
  ASK("ASK 866 %2$s:%3$d");

  private final String format;

  RedisError(String format) {
    this.format = format;
  }

  /** The error as it stands in the protocol, without its frame. */
  String answerTo(String command, InetSocketAddress address) {
    String error =
        String.format(format, command, address.getAddress().getHostAddress(), address.getPort());
    boolean redirects = this == MOVED || this == ASK;
    return command.equalsIgnoreCase("EXEC") && !redirects
        ? "EXECABORT Transaction discarded because of: " + error
        : error;
  }
}
