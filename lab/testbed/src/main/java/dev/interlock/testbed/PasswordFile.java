package dev.interlock.testbed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A file with a password, which a test changes while clients use it. */
public final class PasswordFile implements AutoCloseable {

  private final Path file;
  private int changes;

  private PasswordFile(Path file) {
    this.file = file;
  }

  /**
   * Creates a file with a password.
   *
   * @return the file
   * @throws IOException if it cannot be written
   */
  public static PasswordFile create() throws IOException {
    PasswordFile created = new PasswordFile(Files.createTempFile("password", ".txt"));
    created.write();
    return created;
  }

  /** {@return the path of the file} */
  public Path path() {
    return file;
  }

  /** {@return the password in the file} */
  public String password() {
    return "secret" + changes;
  }

  /** {@return the password that {@link #change} writes} */
  public String next() {
    return "secret" + (changes + 1);
  }

  /**
   * Replaces the file atomically by one with the next password.
   *
   * @throws IOException if it cannot be written
   */
  public void change() throws IOException {
    changes++;
    write();
  }

  private void write() throws IOException {
    Path written = Files.writeString(Path.of(file + ".new"), password() + "\n");
    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  @Override
  public void close() {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
