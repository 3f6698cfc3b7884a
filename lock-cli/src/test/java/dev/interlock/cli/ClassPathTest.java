package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.cli.Interlock.Result;
import dev.interlock.cli.extra.FailingProvider;
import dev.interlock.cli.extra.TinyProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Backends that the user adds by {@code --classpath}. */
class ClassPathTest {
  @TempDir private Path directory;

  private final Interlock interlock = new Interlock();

  @AfterEach
  void endAll() {
    interlock.close();
  }

  @Test
  void aBackendInAJarServesItsScheme() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    Result listed = interlock.run("backends", "--classpath", jar).assertDone();
    assertTrue(listed.out().contains("tiny:any"), listed::out);
    interlock.run("--classpath", jar, "exec", "tiny:x", "job", "--", "true").assertDone();
  }

  @Test
  void aBackendInADirectoryServesItsScheme() throws Exception {
    Path classes = Files.createDirectory(directory.resolve("classes"));
    Files.createDirectories(classes.resolve("META-INF/services"));
    Files.writeString(classes.resolve(ExtraJar.SERVICE), TinyProvider.class.getName());
    ExtraJar.copyClasses(
        (name, content) -> {
          Path file = classes.resolve(name);
          Files.createDirectories(file.getParent());
          Files.write(file, content);
        });
    interlock
        .run("--classpath", classes.toString(), "exec", "tiny:x", "job", "--", "true")
        .assertDone();
  }

  @Test
  void severalEntriesAreSeparatedByColons() throws Exception {
    Path empty = ExtraJar.in(directory, null);
    Path jar = ExtraJar.in(directory, TinyProvider.class);
    interlock
        .run("--classpath", empty + ":" + jar, "exec", "tiny:x", "job", "--", "true")
        .assertDone();
  }

  @Test
  void aChildOfABackendWithoutTokensGetsNone() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    Result result =
        interlock.run(
            Map.of("INTERLOCK_TOKEN", "somebody else's"),
            "exec",
            "--classpath",
            jar,
            "tiny:x",
            "job",
            "--",
            "sh",
            "-c",
            "echo \"$INTERLOCK_NAME,${INTERLOCK_TOKEN-none}\"");
    assertEquals("job,none", result.out(), result::err);
  }

  @Test
  void aBackendThatCannotRevokeIsForcedOnlyOnRequest() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    interlock
        .run("release", "--classpath", jar, "tiny:x", "job")
        .assertFailed(2, "tiny cannot take a lock away and keep exclusion");
    interlock.run("release", "--force", "--classpath", jar, "tiny:x", "job").assertDone();
  }

  @Test
  void anEntryThatIsNotThereIsRefused() throws Exception {
    interlock
        .run("backends", "--classpath", directory + "/missing.jar")
        .assertFailed(2, "there is no readable jar or directory " + directory + "/missing.jar");
  }

  @Test
  void aJarWithoutAServiceEntryIsRefused() throws Exception {
    interlock
        .run("backends", "--classpath", ExtraJar.in(directory, null).toString())
        .assertFailed(2, "a jar or directory with the file " + ExtraJar.SERVICE);
  }

  @Test
  void aFileThatIsNoJarIsRefused() throws Exception {
    Path file = Files.writeString(directory.resolve("notes.txt"), "not a jar");
    interlock.run("backends", "--classpath", file.toString()).assertFailed(2, "--classpath");
  }

  @Test
  void aServiceEntryThatNamesNoClassIsRefused() throws Exception {
    interlock
        .run(
            "backends", "--classpath", ExtraJar.naming(directory, "com.example.Missing").toString())
        .assertFailed(2, "com.example.Missing");
  }

  @Test
  void aProviderThatFailsIsRefused() throws Exception {
    String jar = ExtraJar.in(directory, FailingProvider.class).toString();
    Result result = interlock.run("backends", "--classpath", jar);
    result.assertFailed(2, FailingProvider.class.getName());
    assertFalse(result.err().contains("\tat "), result::err);
    interlock
        .run("exec", "--classpath", jar, "memory:x", "job", "--", "true")
        .assertFailed(2, FailingProvider.class.getName());
  }
}
