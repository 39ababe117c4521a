package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class VersionTest {
  @Test
  void shouldTellNumberCommitAndTimeOfTheBuild() {
    assertTrue(Version.number().matches("[0-9]+\\.[0-9]+\\.[0-9]+.*"), Version.number());
    assertTrue(Version.commit().matches("[0-9a-f]{7,40}(-dirty)?|unknown"), Version.commit());
    final String start = Version.number() + " (commit " + Version.commit() + ", ";
    assertEquals(start, Version.text().substring(0, start.length()));
    assertTrue(Version.text().endsWith(")") && !Version.text().endsWith(", )"), Version.text());
  }
}
