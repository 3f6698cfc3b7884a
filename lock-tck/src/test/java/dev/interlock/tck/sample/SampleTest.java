package dev.interlock.tck.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SampleTest {

  private static final String COMMIT = "0123456789abcdef0123456789abcdef01234567";
  private static final String OTHER = "f".repeat(40);

  @TempDir private Path directory;

  @Test
  void aCommitDrawsTheSameAgainAndAnotherCommitSomethingElse() {
    Sample sample = new Sample(COMMIT);
    Sample other = new Sample(OTHER);
    assertEquals(3_571_345_073_689_597_944L, sample.draw("key"));
    long inBoth =
        IntStream.range(0, 1_000)
            .filter(i -> sample.draw("" + i) % 2 == 0 && other.draw("" + i) % 2 == 0)
            .count();
    assertTrue(inBoth > 200 && inBoth < 300, inBoth + " of 1000 in both halves");
    assertTrue(IntStream.range(0, 1_000).allMatch(i -> sample.draw("" + i) >= 0));
  }

  @Test
  void theCommitIsReadFromABranch() throws Exception {
    write(".git/HEAD", "ref: refs/heads/a/b");
    write(".git/packed-refs", "# pack-refs with: peeled\n" + OTHER + " refs/heads/a/b2");
    write(".git/refs/heads/a/b", COMMIT);
    assertEquals(COMMIT, commit(directory));
  }

  @Test
  void theCommitIsReadFromAPackedReference() throws Exception {
    write(".git/HEAD", "ref: refs/heads/a");
    write(".git/packed-refs", OTHER + " refs/heads/a/b\n" + COMMIT + " refs/heads/a\n^" + OTHER);
    assertEquals(COMMIT, commit(directory));
  }

  @Test
  void theCommitIsReadFromADetachedHead() throws Exception {
    write(".git/HEAD", COMMIT);
    assertEquals(COMMIT, commit(directory));
  }

  @Test
  void theCommitIsReadFromAWorktree() throws Exception {
    write("main/.git/HEAD", OTHER);
    write("main/.git/refs/heads/a", COMMIT);
    write("main/.git/worktrees/w/HEAD", "ref: refs/heads/a");
    write("main/.git/worktrees/w/commondir", "../..");
    write("w/.git", "gitdir: ../main/.git/worktrees/w");
    assertEquals(COMMIT, commit(directory.resolve("w")));
  }

  @Test
  void sourcesThatAreNoCloneHaveTheirVersionInstead() throws Exception {
    write("pom.xml", Files.readString(Path.of("../pom.xml")));
    assertTrue(commit(directory).matches("\\d+\\.\\d+\\.\\d+(-SNAPSHOT)?"), commit(directory));
    write(".git/HEAD", "ref: refs/heads/unborn");
    assertTrue(commit(directory).matches("\\d+\\.\\d+\\.\\d+(-SNAPSHOT)?"), commit(directory));
  }

  private void write(String file, String text) throws Exception {
    Path path = directory.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text + "\n");
  }

  private static String commit(Path directory) throws Exception {
    Process script =
        new ProcessBuilder("../tools/commit", directory.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String said = new String(script.getInputStream().readAllBytes(), UTF_8).strip();
    assertEquals(0, script.waitFor());
    return said;
  }
}
