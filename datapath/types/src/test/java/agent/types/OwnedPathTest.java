package agent.types;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Which owners of a path are trusted; the tests of the state directory check whole paths. */
class OwnedPathTest {
  private static final int ROOT = 0;
  private static final int AGENT = 1200;
  private static final int OTHER = 1300;
  private static final int UNMAPPED = 65534;

  @Test
  void shouldTrustRootAndItselfAndNoOtherUser() {
    assertTrue(OwnedPath.isTrusted(ROOT, AGENT, false, false));
    assertTrue(OwnedPath.isTrusted(AGENT, AGENT, false, false));
    assertFalse(OwnedPath.isTrusted(OTHER, AGENT, false, false));
    assertFalse(OwnedPath.isTrusted(UNMAPPED, AGENT, false, false));
  }

  /** In a user namespace the directories of the real root belong to no user that it knows. */
  @Test
  void shouldTrustUnmappedOwnersWhereTheyCanBeRoot() {
    assertTrue(OwnedPath.isTrusted(UNMAPPED, AGENT, true, false));
    assertTrue(OwnedPath.isTrusted(ROOT, AGENT, true, false));
    assertFalse(OwnedPath.isTrusted(OTHER, AGENT, true, false));
    assertFalse(OwnedPath.isTrusted(UNMAPPED, AGENT, true, true), "the directory itself");
    assertTrue(OwnedPath.isTrusted(AGENT, AGENT, true, true));
    assertTrue(OwnedPath.hasUnmappedUsers("         0       1000          1\n"));
    assertFalse(OwnedPath.hasUnmappedUsers("         0          0 4294967295\n"));
  }
}
