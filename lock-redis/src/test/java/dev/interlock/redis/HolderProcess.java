package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;

/** Another process that takes a lock, says so, and keeps it until it is killed. */
final class HolderProcess implements AutoCloseable {

  private final Process process;
  private final long token;

  private HolderProcess(Process process, long token) {
    this.process = process;
    this.token = token;
  }

  static HolderProcess start(String uri, String name) throws IOException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                HolderProcess.class.getName(),
                uri,
                name)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    String line = out.readLine();
    if (line == null || !line.startsWith("token ")) {
      process.destroyForcibly();
      throw new IOException("the other process did not get the lock, but said: " + line);
    }
    return new HolderProcess(process, Long.parseLong(line.substring("token ".length())));
  }

  long token() {
    return token;
  }

  /** Kills it without its notice (SIGKILL), and returns when it has gone. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() throws InterruptedException {
    kill();
  }

  /**
   * The other process.
   *
   * @param arguments URI and name
   */
  public static void main(String[] arguments) throws Exception {
    try (LockClient client = LockClient.open(arguments[0]);
        Lease lease = client.lock(arguments[1]).acquire()) {
      System.out.println("token " + lease.fencingToken());
      System.out.flush();
      // Until it is killed; or until the test has gone.
      int unused = System.in.read();
    }
  }
}
