package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The log names the caller of a change by the ids that the kernel recorded of its connection. */
@KernelTest
class AgentChangeLogKernelTest {
  private static final int UID = 4711;
  private static final int GID = 4712;

  /** Becomes another user, sends one request to the socket, prints the status line. */
  private static final String CALL =
      "use IO::Socket::UNIX; my ($s, $r) = @ARGV; $( = $) = '4712 4712'; $< = $> = 4711;"
          + " my $c = IO::Socket::UNIX->new(Peer => $s) or die; print $c $r; $c->flush;"
          + " my $l = <$c>; print $l;";

  @Test
  void shouldNameProcessUserAndGroupOfEachChange() throws Exception {
    try (TestNode node = new TestNode()) {
      final AgentProcess agent = node.agent();
      Files.setPosixFilePermissions(agent.socket(), PosixFilePermissions.fromString("rw-rw-rw-"));
      assertLogged(agent, "POST", "/ipam?owner=me", "201", "");
      assertLogged(agent, "DELETE", "/ipam/10.210.0.77", "404", ": ip: 10.210.0.77 is not");
      assertLogged(
          agent,
          "DELETE",
          "/endpoint/4000",
          "404",
          ": id: endpoint agent-local:4000 does not exist");
    }
  }

  private static void assertLogged(
      AgentProcess agent, String method, String target, String status, String reason)
      throws Exception {
    final String request =
        method + " " + target + " HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    final Process call =
        new ProcessBuilder("perl", "-e", CALL, agent.socket().toString(), request)
            .redirectErrorStream(true)
            .start();
    final String answer = new String(call.getInputStream().readAllBytes());
    assertTrue(call.waitFor(30, TimeUnit.SECONDS), "the call does not end");
    assertTrue(answer.contains(" " + status + " "), answer);
    final String path = target.replaceFirst("\\?.*", "");
    final String expected =
        "api: %s %s %s by pid=%d uid=%d gid=%d%s"
            .formatted(method, path, status, call.pid(), UID, GID, reason);
    final List<String> lines = agent.log().lines().filter(line -> line.contains(expected)).toList();
    assertEquals(1, lines.size(), expected + " is not in " + agent.log());
  }
}
