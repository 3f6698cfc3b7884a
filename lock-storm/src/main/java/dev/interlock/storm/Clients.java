package dev.interlock.storm;

import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.util.Optional;

/**
 * The storm's own clients, as the nemesis meets them: numbered from 0, each with a network of its
 * own to the store. Methods return when the operating system shows the effect.
 */
interface Clients {
  /** How many there are. The number stays the same through kills. */
  int count();

  /** What it is called in faults and holders, such as {@code client-2}. */
  String name(int client);

  /** Whether it is a process of its own, which may be stopped and killed. */
  boolean isProcess(int client);

  /** The way from this client to the store; empty if there is none that faults can be put on. */
  Optional<Network> network(int client);

  /** Stops the process (SIGSTOP). */
  void stop(int client) throws IOException, InterruptedException;

  /** Lets the process go on (SIGCONT). */
  void resume(int client) throws IOException, InterruptedException;

  /** Kills the process (SIGKILL). */
  void kill(int client) throws IOException, InterruptedException;

  /** Starts a killed client again, with the same work and the same network. */
  void restart(int client) throws IOException, InterruptedException;
}
