package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import dev.interlock.cli.Interlock.Result;
import dev.interlock.cli.extra.FailingProvider;
import dev.interlock.cli.extra.TinyProvider;
import dev.interlock.tck.sample.SomeTests;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Backends that the user adds by {@code --classpath}. */
class ClassPathTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @TempDir private Path directory;

  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void aBackendInAJarServesItsScheme() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    Result listed = interlock.run("backends", "--classpath", jar).assertDone();
    assertTrue(listed.out().contains("tiny:any"), listed::out);
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

  /** Runs in a process of its own, whose class path lacks the backend. */
  @Test
  void aBackendWithoutTokensPassesNoneToTheChild() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    String script = "echo \"$INTERLOCK_NAME,${INTERLOCK_TOKEN-none}\"";
    Result result =
        interlock
            .launch(
                Map.of("INTERLOCK_TOKEN", "somebody else's"),
                Interlock.commandLine(
                    "exec", "--classpath", jar, "tiny:x", "job", "--", "sh", "-c", script))
            .await();
    assertEquals("job,none", result.out(), result::err);
  }

  @Test
  void aBackendWithoutRevokeNeedsTheForceOption() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    interlock
        .run("release", "--classpath", jar, "tiny:x", "job")
        .assertFailed(2, "tiny cannot take a lock away and keep exclusion");
    interlock
        .run("release", "--force", "--classpath", jar, "tiny:x", "job")
        .assertFailed(1, "lock \"job\" is not held");
  }

  @Test
  void theLocksOfABackendAreListedSortedByName() throws Exception {
    String jar = ExtraJar.in(directory, TinyProvider.class).toString();
    assertEquals(
        """
        LOCK  HELD AS    TOKEN  REMAINING   HELD SINCE            HELD BY
        x/a   exclusive  -      -           -                     -
        x/b?  exclusive  448    1 min 30 s  1970-01-01T00:00:00Z  me""",
        interlock.run("list", "--classpath", jar, "tiny:x", "x").assertDone().out());
    JsonArray locks =
        JsonParser.parseString(
                interlock.run("list", "--json", "--classpath", jar, "tiny:x").assertDone().out())
            .getAsJsonObject()
            .getAsJsonArray("locks");
    assertEquals("/a", locks.get(0).getAsJsonObject().get("name").getAsString());
    assertEquals(
        JsonParser.parseString(
            """
            {"name": "/b\\u001b", "held": true, "kind": "EXCLUSIVE", "limit": null,
             "holder": "me", "token": 448, "remainingMillis": 90000,
             "heldSince": "1970-01-01T00:00:00Z",
             "holders": [{"mode": "EXCLUSIVE", "permits": null, "holder": "me", "token": 448,
                          "remainingMillis": 90000, "heldSince": "1970-01-01T00:00:00Z"}],
             "waiters": ["you"]}"""),
        locks.get(1));
    assertEquals("", interlock.run("list", "memory:x").assertDone().out());
  }

  @Test
  void aMissingEntryIsRefused() throws Exception {
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
  void aFileThatIsNotAJarIsRefused() throws Exception {
    Path file = Files.writeString(directory.resolve("notes.txt"), "not a jar");
    interlock.run("backends", "--classpath", file.toString()).assertFailed(2, "--classpath");
  }

  @Test
  void otherBackendsWorkBesideAServiceEntryThatNamesNoClass() throws Exception {
    assertOthersWorkWithout(
        "com.example.Missing", ExtraJar.naming(directory, "com.example.Missing").toString());
  }

  @Test
  void otherBackendsWorkBesideAProviderThatFails() throws Exception {
    assertOthersWorkWithout(
        FailingProvider.class.getName(), ExtraJar.in(directory, FailingProvider.class).toString());
  }

  private void assertOthersWorkWithout(String provider, String jar) throws Exception {
    Result listed = interlock.run("backends", "--classpath", jar);
    assertEquals(1, listed.exitCode());
    assertTrue(listed.out().contains("memory:demo"), listed::out);
    assertTrue(listed.err().startsWith("interlock: cannot load a backend: "), listed::err);
    assertTrue(listed.err().contains(provider), listed::err);
    assertEquals(1, listed.err().lines().count(), listed::err);
    interlock.run("exec", "--classpath", jar, "memory:x", "job", "--", "true").assertDone();
    interlock
        .run("exec", "--classpath", jar, "tiny:x", "job", "--", "true")
        .assertFailed(2, provider);
  }

  @Test
  void aBackendReportsThatItsDriverIsMissingAndOthersWork() throws Exception {
    runWithout("jedis", "memory:x").assertDone();
    Result result = runWithout("jedis", "redis://localhost:1");
    result.assertFailed(2, "the class redis.clients.jedis.");
    assertTrue(result.err().contains(" is missing"), result::err);
  }

  @Test
  void withoutTheBackendTheMessageNamesTheDependency() throws Exception {
    runWithout("lock-re", "redis-cluster://h")
        .assertFailed(
            2,
            "add the dependency dev.interlock:lock-redis. The backends that were found take etcd:");
    runWithout("lock-re", "redlocks://h").assertFailed(2, "dev.interlock:lock-redlock");
    interlock.run("inspect", "nosuch://h", "job").assertFailed(2, "correct the scheme");
  }

  private Result runWithout(String part, String uri) throws Exception {
    String classPath =
        Stream.of(Interlock.classPath().split(File.pathSeparator))
            .filter(entry -> !entry.contains(part))
            .collect(Collectors.joining(File.pathSeparator));
    return interlock
        .launch(Map.of(), Interlock.java(classPath, Main.class.getName(), "inspect", uri, "job"))
        .await();
  }
}
