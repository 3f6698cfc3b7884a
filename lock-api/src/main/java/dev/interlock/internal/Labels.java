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

  private static final int MAX_LENGTH = 255;
  private static final String UNKNOWN_HOST = "unknown-host";
  private static final Path KERNEL_HOSTNAME = Path.of("/proc/sys/kernel/hostname");

  private static volatile String process = process(knownHost());

  /**
   * The thread's name, the process, and the label made of them: an array, because that type belongs
   * to no class loader of the program.
   */
  private static final ThreadLocal<String[]> CACHED_LABEL =
      ThreadLocal.withInitial(() -> new String[3]);

  private Labels() {}

  static String ofCurrentThread() {
    Thread thread = Thread.currentThread();
    String name = thread.getName();
    String currentProcess = process;
    String[] cached = CACHED_LABEL.get();
    if (!name.equals(cached[0]) || !currentProcess.equals(cached[1])) {
      cached[2] = clean(currentProcess + (name.isEmpty() ? "#" + thread.getId() : name));
      cached[1] = currentProcess;
      cached[0] = name;
    }
    return cached[2];
  }

  // A thread's name may contain anything; a label must be short and printable.
  private static String clean(String label) {
    StringBuilder clean = new StringBuilder(label);
    clean.setLength(Math.min(label.length(), MAX_LENGTH));
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
    if (process.equals(process(UNKNOWN_HOST))) {
      platform.thread("host-name", Labels::lookUpHost).start();
    }
  }

  private static String process(String host) {
    return host + "/" + ProcessHandle.current().pid() + "/";
  }

  private static String knownHost() {
    String host = System.getenv("HOSTNAME");
    try {
      host = Files.readString(KERNEL_HOSTNAME).strip();
    } catch (IOException | SecurityException e) {
      // Not on Linux, or hidden from this process: use the environment.
    }
    if (host == null || host.isEmpty()) {
      host = System.getenv("COMPUTERNAME");
    }
    return host == null || host.isEmpty() ? UNKNOWN_HOST : host;
  }

  private static void lookUpHost() {
    try {
      process = process(InetAddress.getLocalHost().getHostName());
    } catch (UnknownHostException e) {
      // The process id still identifies a holder on a machine that cannot resolve its own name.
    }
  }
}
