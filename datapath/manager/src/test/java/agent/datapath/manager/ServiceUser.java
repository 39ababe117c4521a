package agent.datapath.manager;

import agent.bindings.process.ProcessAttributes;
import agent.datapath.spec.RedirectProxy;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Uses a service in a process of its own: as root, or as the user of the proxies. */
final class ServiceUser {
  private ServiceUser() {}

  /** Returns what a connection and a datagram came to, a line each. */
  static String run(ManagerTestNode node, SocketClient client, boolean isProxy) throws Exception {
    final Process process =
        new ProcessBuilder(
                node.namespace()
                    .inside(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ServiceUser.class.getName(),
                        client.name(),
                        Boolean.toString(isProxy)))
            .redirectErrorStream(true)
            .start();
    final String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return output;
  }

  /**
   * Tries.
   *
   * @param arguments a {@link SocketClient}, and whether to become the user of the proxies
   */
  public static void main(String[] arguments) throws Exception {
    final SocketClient client = SocketClient.valueOf(arguments[0]);
    try (SocketChannel stream = SocketChannel.open(client.family);
        DatagramChannel datagrams = DatagramChannel.open(client.family)) {
      if (Boolean.parseBoolean(arguments[1])) {
        ProcessAttributes.becomeUser(RedirectProxy.USER);
      }
      say("connect", () -> stream.connect(client.service()));
      say("send", () -> datagrams.send(ByteBuffer.wrap(new byte[1]), client.service()));
    }
  }

  private interface Attempt {
    void make() throws IOException;
  }

  private static void say(String what, Attempt attempt) {
    String result = "done";
    try {
      attempt.make();
    } catch (IOException e) {
      result = e.getMessage();
    }
    System.out.println(what + ": " + result);
  }
}
