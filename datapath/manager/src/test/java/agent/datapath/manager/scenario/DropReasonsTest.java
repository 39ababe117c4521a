package agent.datapath.manager.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each drop reason is one that some packet on the real kernel is dropped for, in a test. */
class DropReasonsTest {
  private static final Path SOURCES = Path.of("src/test/java/agent/datapath/manager");

  /** An assertion that a packet was counted for a reason. */
  private static final Pattern ASSERTED =
      Pattern.compile(
          "(?:dropsFor|dropsAtPeerFor|dropsOf|rejects|rejectsAs|packets)\\([^;]*?DropReason\\.(\\w+)");

  @Test
  void shouldHaveAPacketThatIsDroppedForEachReason() throws IOException {
    final Set<DropReason> missing = EnumSet.complementOf(EnumSet.of(DropReason.NONE));
    try (Stream<Path> files = Files.walk(SOURCES)) {
      for (final Path file : files.filter(DropReasonsTest::isKernelTest).toList()) {
        final Matcher matcher = ASSERTED.matcher(Files.readString(file));
        while (matcher.find()) {
          missing.remove(DropReason.valueOf(matcher.group(1)));
        }
      }
    }
    assertEquals(Set.of(), missing);
  }

  private static boolean isKernelTest(Path file) {
    return file.getFileName().toString().endsWith("KernelTest.java");
  }
}
