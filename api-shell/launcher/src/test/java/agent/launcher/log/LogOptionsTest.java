package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.Test;

class LogOptionsTest {
  private static final List<String> SYSLOG = List.of("syslog");

  private static LogOptions.Syslog syslog(Map<String, String> options) {
    return LogOptions.of(false, List.of(), SYSLOG, options).syslog().orElseThrow();
  }

  private static void assertRefused(
      String message, List<String> groups, List<String> drivers, Map<String, String> options) {
    assertEquals(
        message,
        assertThrows(
                IllegalArgumentException.class,
                () -> LogOptions.of(false, groups, drivers, options))
            .getMessage());
  }

  @Test
  void shouldLogToStandardErrorAloneUntilADriverIsNamed() {
    assertEquals(Optional.empty(), LogOptions.of(true, List.of(), List.of(), Map.of()).syslog());
    assertEquals(
        new LogOptions.Syslog(Path.of("/dev/log"), Level.INFO, 3, "agent"), syslog(Map.of()));
  }

  @Test
  void shouldTakeEveryOptionOfTheDriver() {
    assertEquals(
        new LogOptions.Syslog(Path.of("/run/log"), Level.WARN, 21, "node-1"),
        syslog(
            Map.of(
                "syslog.socket", "/run/log",
                "syslog.level", "warn",
                "syslog.facility", "local5",
                "syslog.tag", "node-1")));
    assertEquals(0, syslog(Map.of("syslog.facility", "kern")).facility());
    assertEquals(1, syslog(Map.of("syslog.facility", "user")).facility());
    assertEquals(23, syslog(Map.of("syslog.facility", "local7")).facility());
  }

  @Test
  void shouldRefuseWhatItDoesNotKnowByName() {
    assertRefused(
        "debug-verbose: 'flow' is not one of api, datapath, endpoint, identity, ipam, node, policy,"
            + " state",
        List.of("flow"),
        List.of(),
        Map.of());
    assertRefused(
        "log-driver: 'fluent' is not a log driver: syslog", List.of(), List.of("fluent"), Map.of());
    assertRefused(
        "log-opt: has no effect without --log-driver",
        List.of(),
        List.of(),
        Map.of("syslog.tag", "x"));
    assertRefused(
        "log-opt: 'tag' is not one of syslog.socket, syslog.level, syslog.facility, syslog.tag",
        List.of(),
        SYSLOG,
        Map.of("tag", "x"));
    assertRefused(
        "log-opt: syslog.level: 'loud' is not known",
        List.of(),
        SYSLOG,
        Map.of("syslog.level", "loud"));
    assertRefused(
        "log-opt: syslog.facility: 'local8' is not known",
        List.of(),
        SYSLOG,
        Map.of("syslog.facility", "local8"));
    assertRefused(
        "log-opt: syslog.socket: 'x' is not a path",
        List.of(),
        SYSLOG,
        Map.of("syslog.socket", "x"));
    assertRefused(
        "log-opt: syslog.tag: 'a b' is not a word of at most 32 characters",
        List.of(),
        SYSLOG,
        Map.of("syslog.tag", "a b"));
  }
}
