package dev.interlock.internal;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The default label of a holder: {@code host/pid/thread}. The host name comes from the kernel or
 * the environment. If neither has it (macOS), it is looked up in the background, because a resolver
 * can take any time, and is {@code unknown-host} until then.
 */
final class Labels {

  private static final int LONGEST = 255;
  private static final String UNKNOWN = "unknown-host";
  private static final Path OF_KERNEL = Path.of("/proc/sys/kernel/hostname");

  private static volatile String process = process(knownHost());

  /**
   * A thread's name, the process and the label made of them. An array, which belongs to no
   * program's loader.
   */
  private static final ThreadLocal<String[]> LAST = ThreadLocal.withInitial(() -> new String[3]);

  private Labels() {}

  static String ofCurrentThread() {
    Thread thread = Thread.currentThread();
    String name = thread.getName();
    String here = process;
    String[] last = LAST.get();
    if (!name.equals(last[0]) || !here.equals(last[1])) {
      last[2] = clean(here + (name.isEmpty() ? "#" + thread.getId() : name));
      last[1] = here;
      last[0] = name;
    }
    return last[2];
  }

  // Thread names may hold anything; a label must be short and printable.
  private static String clean(String label) {
    StringBuilder clean = new StringBuilder(label);
    clean.setLength(Math.min(label.length(), LONGEST));
    for (int i = 0; i < clean.length(); i++) {
      char character = clean.charAt(i);
      if (Character.isISOControl(character) || Character.isSurrogate(character)) {
        clean.setCharAt(i, '?');
      }
    }
    return clean.toString();
  }

  /** Looks up the host in the background, unless it is known. */
  static void findHost(Platform platform) {
    if (process.equals(process(UNKNOWN))) {
      platform.thread("host-name", Labels::lookUpHost).start();
    }
  }

  private static String process(String host) {
    return host + "/" + ProcessHandle.current().pid() + "/";
  }

  private static String knownHost() {
    String host = System.getenv("HOSTNAME");
    try {
      host = Files.readString(OF_KERNEL).strip();
    } catch (IOException | SecurityException e) {
      // Not on Linux, or hidden from this process: use the environment.
    }
    if (host == null || host.isEmpty()) {
      host = System.getenv("COMPUTERNAME");
    }
    return host == null || host.isEmpty() ? UNKNOWN : host;
  }

  private static void lookUpHost() {
    try {
      process = process(InetAddress.getLocalHost().getHostName());
    } catch (UnknownHostException e) {
      // The process id still identifies a holder on a machine that cannot resolve its own name.
    }
  }
}
