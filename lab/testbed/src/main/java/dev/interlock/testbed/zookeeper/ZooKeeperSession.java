package dev.interlock.testbed.zookeeper;

import dev.interlock.testbed.process.Sockets;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.Random;

/**
 * Closes a session of another client, as that client would: it connects with the session's number
 * and password, and closes the session. The password is not secret: a server derives it from the
 * number, with a seed in its source ({@code generatePasswd} in {@code
 * org.apache.zookeeper.server.ZooKeeperServer}).
 *
 * <p>It speaks the necessary part of ZooKeeper's protocol itself, without a driver.
 */
final class ZooKeeperSession {
  private static final long SEED = 0xB3415C00L;
  private static final int PASSWORD_BYTES = 16;
  private static final int CLOSE_SESSION = -11;
  private static final int TIMEOUT_MILLIS = 4_000;

  private ZooKeeperSession() {}

  /**
   * Ends a session.
   *
   * @throws IOException if the server refuses the connection, or does not confirm within the limit
   */
  static void end(String host, int port, long session, Duration limit) throws IOException {
    try (Socket socket = Sockets.connect(host, port, limit)) {
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      DataInputStream in = new DataInputStream(socket.getInputStream());
      send(out, connect(session));
      skipFully(in, 3 * Integer.BYTES); // length, version, time-out
      if (in.readLong() != session) {
        throw new IOException(
            "the server did not let another connection use the session "
                + Long.toHexString(session));
      }
      skipFully(in, in.readInt() + 1); // password, whether it is read-only
      send(out, close());
      in.readInt();
    }
  }

  private static byte[] connect(long session) throws IOException {
    byte[] password = new byte[PASSWORD_BYTES];
    new Random(session ^ SEED).nextBytes(password);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream request = new DataOutputStream(bytes);
    request.writeInt(0); // version of the protocol
    request.writeLong(0); // the last transaction that the client has seen
    request.writeInt(TIMEOUT_MILLIS);
    request.writeLong(session);
    request.writeInt(PASSWORD_BYTES);
    request.write(password);
    request.writeBoolean(false); // not read-only
    return bytes.toByteArray();
  }

  private static byte[] close() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream request = new DataOutputStream(bytes);
    request.writeInt(1); // number of the request
    request.writeInt(CLOSE_SESSION);
    return bytes.toByteArray();
  }

  private static void send(DataOutputStream out, byte[] request) throws IOException {
    out.writeInt(request.length);
    out.write(request);
    out.flush();
  }

  private static void skipFully(DataInputStream in, int bytes) throws IOException {
    in.readFully(new byte[bytes]);
  }
}
