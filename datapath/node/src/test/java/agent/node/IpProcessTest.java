package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IpProcessTest {
  @TempDir Path folder;

  private IpProcess program(String script, Duration timeout) throws IOException {
    final Path file = folder.resolve("ip");
    Files.writeString(file, "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    return IpProcess.of(file.toString(), timeout);
  }

  @Test
  void shouldTellWhichCommandsOfABatchFailed() throws IOException {
    final IpProcess ip =
        program(
            """
            cat >/dev/null
            echo 'RTNETLINK answers: File exists' >&2
            echo 'Command failed -:1' >&2
            echo 'Error: ipv4: Address not found.' >&2
            echo 'Command failed -:3' >&2
            exit 1""",
            Duration.ofSeconds(5));
    assertEquals(
        List.of(
            new IpRunner.Failure("route add a", "RTNETLINK answers: File exists"),
            new IpRunner.Failure("address del c", "Error: ipv4: Address not found.")),
        ip.batch(List.of("route add a", "route add b", "address del c")));
  }

  @Test
  void shouldFailWhereTheBatchEndedBeforeItsEnd() throws IOException {
    final IpProcess ip =
        program(
            """
            cat >/dev/null
            echo 'Command failed -:1' >&2
            echo 'RTNETLINK answers: No such file or directory' >&2
            exit 2""",
            Duration.ofSeconds(5));
    final Refusal refusal =
        assertThrows(Refusal.class, () -> ip.batch(List.of("neigh del a", "route add b")));
    assertEquals(Refusal.Kind.FAILED, refusal.kind());
    assertTrue(refusal.getMessage().contains("No such file or directory"));
  }

  @Test
  void shouldNotTakeAWarningForAnAnswer() throws IOException {
    final IpProcess ip =
        program(
            "echo 'Error: something that did not matter' >&2; echo '1: lo: <UP> mtu 65536'",
            Duration.ofSeconds(5));
    assertEquals(List.of("1: lo: <UP> mtu 65536"), ip.show(List.of("-o", "link", "show")));
  }

  @Test
  void shouldReadAListAgainThatChangedMeanwhile() throws IOException {
    final IpProcess ip =
        program(
            """
            if [ -e "$0.again" ]; then
              echo all
            else
              touch "$0.again"
              echo half
              echo 'Dump was interrupted and may be inconsistent.' >&2
            fi""",
            Duration.ofSeconds(5));
    assertEquals(List.of("all"), ip.show(List.of("-o", "link", "show")));
  }

  @Test
  void shouldGiveUpOnAProgramThatHangs() throws IOException {
    final IpProcess ip = program("exec sleep 60", Duration.ofMillis(200));
    final Refusal refusal = assertThrows(Refusal.class, () -> ip.show(List.of("link")));
    assertTrue(refusal.getMessage().contains("no answer within 200 ms"));
  }

  @Test
  void shouldPassManyCommandsAndManyFailures() throws IOException {
    final IpProcess ip =
        program(
            """
            n=0
            while read -r line; do
              n=$((n + 1))
              echo "Error: no $line" >&2
              echo "Command failed -:$n" >&2
            done
            exit 1""",
            Duration.ofSeconds(20));
    final List<String> commands =
        java.util.stream.IntStream.range(0, 5000).mapToObj(i -> "route add " + i).toList();
    final List<IpRunner.Failure> failures = ip.batch(commands);
    assertEquals(5000, failures.size());
    assertEquals("Error: no route add 4999", failures.getLast().message());
  }

  @Test
  void shouldSayWhereTheProgramIsMissing() {
    final IpProcess ip = IpProcess.of("/nonexistent/ip", Duration.ofSeconds(1));
    final Refusal refusal = assertThrows(Refusal.class, () -> ip.show(List.of("link")));
    assertTrue(refusal.getMessage().contains("/nonexistent/ip"));
  }
}
