package dev.interlock.report;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Describes the machine that a report was measured on. */
public final class Machine {
  private Machine() {}

  /** {@return facts about the machine by name, in display order} */
  public static Map<String, String> describe() {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("processor", processor());
    facts.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
    facts.put("memory", memory());
    facts.put(
        "system",
        String.join(
            " ",
            System.getProperty("os.name", ""),
            System.getProperty("os.version", ""),
            System.getProperty("os.arch", "")));
    facts.put("java", Runtime.version() + ", " + System.getProperty("java.vm.name", ""));
    facts.put("heap", Unit.BYTES.format((double) Runtime.getRuntime().maxMemory()) + " at most");
    double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    if (load >= 0) {
      facts.put("load", Unit.COUNT.format(load) + " at the beginning, averaged over a minute");
    }
    return facts;
  }

  private static String processor() {
    return field("/proc/cpuinfo", "model name", "unknown");
  }

  private static String memory() {
    String kilobytes = field("/proc/meminfo", "MemTotal", "").replaceAll("\\D", "");
    return kilobytes.isEmpty()
        ? "unknown"
        : Unit.BYTES.format(Double.parseDouble(kilobytes) * 1024);
  }

  private static String field(String file, String name, String defaultValue) {
    try {
      return Files.readString(Path.of(file), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> line.startsWith(name))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElse(defaultValue);
    } catch (IOException e) {
      return defaultValue;
    }
  }
}
