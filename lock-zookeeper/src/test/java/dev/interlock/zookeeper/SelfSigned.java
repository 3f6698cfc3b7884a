package dev.interlock.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/** A certificate that is its own authority, and its key, in files that ZooKeeper reads. */
record SelfSigned(Path certificate, Path key) {

  /** Makes one for a subject, such as {@code ip:127.0.0.1}, with the JDK's own tool. */
  static SelfSigned forSubject(Path directory, String subject)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = directory.resolve("store-" + System.nanoTime());
    String password = "changeit";
    Process keytool =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-genkeypair",
                    "-alias",
                    "server",
                    "-keyalg",
                    "EC",
                    "-dname",
                    "CN=test",
                    "-ext",
                    "san=" + subject,
                    "-ext",
                    "bc:c",
                    "-validity",
                    "2",
                    "-storetype",
                    "PKCS12",
                    "-keystore",
                    store.toString(),
                    "-storepass",
                    password))
            .redirectErrorStream(true)
            .start();
    String said = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    if (keytool.waitFor() != 0) {
      throw new IOException("keytool: " + said);
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, password.toCharArray());
    }
    return new SelfSigned(
        pem(
            store.resolveSibling(store.getFileName() + ".crt"),
            "CERTIFICATE",
            keys.getCertificate("server").getEncoded()),
        pem(
            store.resolveSibling(store.getFileName() + ".key"),
            "PRIVATE KEY",
            keys.getKey("server", password.toCharArray()).getEncoded()));
  }

  private static Path pem(Path file, String what, byte[] der) throws IOException {
    return Files.writeString(
        file,
        "-----BEGIN "
            + what
            + "-----\n"
            + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der)
            + "\n-----END "
            + what
            + "-----\n");
  }
}
