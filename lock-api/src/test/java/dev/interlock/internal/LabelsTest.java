package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LabelsTest {

  /** Prints its label. */
  static final class Speaker {
    private Speaker() {}

    public static void main(String[] arguments) {
      System.out.print(Labels.ofCurrentThread());
    }
  }

  @Test
  void theHostIsKnownWithoutAskingAResolver(@TempDir Path folder) throws IOException {
    Path kernels = Path.of("/proc/sys/kernel/hostname");
    assumeTrue(Files.isReadable(kernels), "the kernel's name of the host is read on Linux");
    Path noHosts = Files.createFile(folder.resolve("hosts"));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Djdk.net.hosts.file=" + noHosts, // whatever is looked up is not found
                "-cp",
                System.getProperty("java.class.path"),
                Speaker.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String label = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(Files.readString(kernels).strip() + "/" + process.pid() + "/main", label);
  }
}
