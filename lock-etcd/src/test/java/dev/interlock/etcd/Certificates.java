package dev.interlock.etcd;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A key, and a certificate that nobody has signed but itself, made with the JDK's keytool.
 *
 * @param certificate in PEM form
 * @param key in PEM form, not encrypted
 */
record Certificates(Path certificate, Path key) {

  private static final String PASSWORD = "disposable";
  private static final String ALIAS = "stranger";

  static Certificates ofAStranger(Path directory) throws Exception {
    Path store = directory.resolve("stranger.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process process =
        new ProcessBuilder(
                List.of(
                    keytool,
                    "-genkeypair",
                    "-keystore",
                    store.toString(),
                    "-storetype",
                    "PKCS12",
                    "-storepass",
                    PASSWORD,
                    "-alias",
                    ALIAS,
                    "-keyalg",
                    "EC",
                    "-groupname",
                    "secp256r1",
                    "-dname",
                    "CN=stranger"))
            .inheritIO()
            .start();
    if (!process.waitFor(1, TimeUnit.MINUTES) || process.exitValue() != 0) {
      throw new IOException("keytool failed");
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return new Certificates(
        pem(
            directory.resolve("stranger.pem"),
            "CERTIFICATE",
            keys.getCertificate(ALIAS).getEncoded()),
        pem(
            directory.resolve("stranger.key"),
            "PRIVATE KEY",
            keys.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded()));
  }

  private static Path pem(Path file, String type, byte[] der) throws IOException {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return Files.writeString(
        file, "-----BEGIN " + type + "-----\n" + body + "\n-----END " + type + "-----\n");
  }
}
