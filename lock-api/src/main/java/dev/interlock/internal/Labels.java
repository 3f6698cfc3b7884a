package dev.interlock.internal;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** The default label of a holder: {@code host/pid/thread}. */
final class Labels {

  private static final int LONGEST = 255;
  private static final String PROCESS = host() + "/" + ProcessHandle.current().pid() + "/";

  /** A thread's name and the label made of it. An array, which belongs to no program's loader. */
  private static final ThreadLocal<String[]> LAST = ThreadLocal.withInitial(() -> new String[2]);

  private Labels() {}

  static String ofCurrentThread() {
    Thread thread = Thread.currentThread();
    String name = thread.getName();
    String[] last = LAST.get();
    if (!name.equals(last[0])) {
      last[1] = clean(PROCESS + (name.isEmpty() ? "#" + thread.getId() : name));
      last[0] = name;
    }
    return last[1];
  }

  // Thread names may hold anything; a label must be short and printable.
  private static String clean(String label) {
    StringBuilder clean = null;
    int length = Math.min(label.length(), LONGEST);
    for (int i = 0; i < length; i++) {
      char c = label.charAt(i);
      if (Character.isISOControl(c) || Character.isSurrogate(c)) {
        if (clean == null) {
          clean = new StringBuilder(label).delete(length, label.length());
        }
        clean.setCharAt(i, '?');
      }
    }
    return clean == null ? label.substring(0, length) : clean.toString();
  }

  private static String host() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      // A machine that cannot resolve its own name still has a process id to tell.
      return "unknown-host";
    }
  }
}
