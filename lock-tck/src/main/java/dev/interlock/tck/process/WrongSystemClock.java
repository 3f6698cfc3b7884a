package dev.interlock.tck.process;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.time.Clock;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.jspecify.annotations.Nullable;

/**
 * A Java agent that gives a whole JVM another time of day: every class that reads it through {@link
 * System}, {@link Date} or {@code java.time} gets the time of a clock that is ahead or behind.
 * {@link System#nanoTime()} is as usual.
 *
 * <p>It redirects, in the constant pool of each class, the two methods that read the clock. The
 * boot class loader loads this class, so that classes of the JDK can call it. It therefore refers
 * to classes of the JDK only.
 */
public final class WrongSystemClock implements ClassFileTransformer {
  private static final List<String> READINGS =
      List.of(
          "java/lang/System.currentTimeMillis()J",
          "jdk/internal/misc/VM.getNanoTimeAdjustment(J)J");

  /** All other classes of the JDK read the clock through these, or to measure durations. */
  private static final List<String> CLOCKS =
      List.of("java.util.Date", "java.time.Clock", "java.time.Clock$SystemClock");

  private static final int UTF8 = 1;
  private static final int LONG = 5;
  private static final int DOUBLE = 6;
  private static final int CLASS = 7;
  private static final int STRING = 8;
  private static final int METHOD = 10;
  private static final int METHOD_HANDLE = 15;
  private static final int METHOD_TYPE = 16;
  private static final int MODULE = 19;
  private static final int PACKAGE = 20;

  private static volatile long aheadMillis;

  private WrongSystemClock() {}

  /**
   * Returns the JVM argument that sets the clock.
   *
   * @param ahead how far it is ahead; negative if it is behind
   * @return the argument
   * @throws IOException if the agent's file cannot be written; it is deleted with this JVM
   */
  public static String argument(Duration ahead) throws IOException {
    Path jar = Files.createTempFile("interlock-tck-", ".jar");
    jar.toFile().deleteOnExit();
    Manifest manifest = new Manifest();
    Attributes attributes = manifest.getMainAttributes();
    attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    attributes.putValue("Premain-Class", WrongSystemClock.class.getName());
    attributes.putValue("Boot-Class-Path", jar.getFileName().toString());
    attributes.putValue("Can-Retransform-Classes", "true");
    String file = ownName() + ".class";
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
        InputStream own = WrongSystemClock.class.getResourceAsStream("/" + file)) {
      if (own == null) {
        throw new IOException("the class file of the agent cannot be read");
      }
      out.putNextEntry(new JarEntry(file));
      out.write(own.readAllBytes());
    }
    return "-javaagent:" + jar + "=" + ahead;
  }

  /**
   * Sets the clock, before the program starts.
   *
   * @param ahead how far it is ahead, as {@link Duration#parse} reads it
   * @param jvm the JVM
   * @throws UnmodifiableClassException if the JVM does not permit the change
   */
  public static void premain(String ahead, Instrumentation jvm) throws UnmodifiableClassException {
    aheadMillis = Duration.parse(ahead).toMillis();
    jvm.addTransformer(new WrongSystemClock(), true);
    for (String clock : CLOCKS) {
      try {
        jvm.retransformClasses(Class.forName(clock));
      } catch (ClassNotFoundException e) {
        // another JDK may have other classes; its clock is then as usual
      }
    }
  }

  /** {@return the time of day, called instead of {@link System#currentTimeMillis()}} */
  public static long currentTimeMillis() {
    return System.currentTimeMillis() + aheadMillis;
  }

  /**
   * Called by {@link Clock} instead of the JDK's own method.
   *
   * @param offsetSeconds a time near the present, in seconds since 1970
   * @return the nanoseconds from then to the time of day
   */
  public static long getNanoTimeAdjustment(long offsetSeconds) {
    return (currentTimeMillis() - offsetSeconds * 1_000) * 1_000_000;
  }

  @Override
  public byte @Nullable [] transform(
      @Nullable ClassLoader loader,
      @Nullable String name,
      @Nullable Class<?> loaded,
      @Nullable ProtectionDomain domain,
      byte[] classFile) {
    boolean readsClock = loader != null || (loaded != null && CLOCKS.contains(loaded.getName()));
    return readsClock ? redirected(classFile) : null;
  }

  /** {@return a class file that calls this class instead; null if it does not read the clock} */
  private static byte @Nullable [] redirected(byte[] classFile) {
    ByteBuffer file = ByteBuffer.wrap(classFile.clone());
    int count = unsigned(file, 8);
    int[] constants = new int[count];
    int end = 10;
    for (int i = 1; i < count; i++) {
      constants[i] = end;
      int tag = file.get(end);
      end +=
          switch (tag) {
            case UTF8 -> 3 + unsigned(file, end + 1);
            case LONG, DOUBLE -> 9;
            case CLASS, STRING, METHOD_TYPE, MODULE, PACKAGE -> 3;
            case METHOD_HANDLE -> 4;
            default -> 5;
          };
      if (tag == LONG || tag == DOUBLE) {
        i++; // these take two numbers
      }
    }
    boolean found = false;
    for (int constant : constants) {
      if (constant > 0 && file.get(constant) == METHOD) {
        int owner = constants[unsigned(file, constant + 1)];
        int method = constants[unsigned(file, constant + 3)];
        if (READINGS.contains(
            text(file, constants, owner + 1)
                + "."
                + text(file, constants, method + 1)
                + text(file, constants, method + 3))) {
          file.putShort(constant + 1, (short) (count + 1)); // the class that is added below
          found = true;
        }
      }
    }
    if (!found) {
      return null;
    }
    byte[] own = ownName().getBytes(US_ASCII);
    ByteBuffer changed = ByteBuffer.allocate(classFile.length + own.length + 6);
    changed.put(file.array(), 0, 8).putShort((short) (count + 2));
    changed.put(file.array(), 10, end - 10);
    changed.put((byte) UTF8).putShort((short) own.length).put(own);
    changed.put((byte) CLASS).putShort((short) count);
    return changed.put(file.array(), end, classFile.length - end).array();
  }

  private static String ownName() {
    return WrongSystemClock.class.getName().replace('.', '/');
  }

  /** {@return the text to which a constant refers} */
  @SuppressWarnings("ByteBufferBackingArray") // it wraps the whole class file
  private static String text(ByteBuffer file, int[] constants, int reference) {
    int text = constants[unsigned(file, reference)];
    return new String(file.array(), text + 3, unsigned(file, text + 1), US_ASCII);
  }

  private static int unsigned(ByteBuffer file, int at) {
    return Short.toUnsignedInt(file.getShort(at));
  }
}
