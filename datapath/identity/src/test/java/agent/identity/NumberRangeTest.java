package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.Refusal;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The numbers of a range, and small rules of labels at their limits. */
class NumberRangeTest {
  private final NumberRange range = new NumberRange("numbers", 11, 13);

  @Test
  void shouldGiveTheNextNumberAfterThePreviousOne() {
    assertEquals(11, range.next());
    range.free(11);
    assertEquals(12, range.next());
    assertEquals(13, range.next());
    assertEquals(11, range.next());
    final Refusal refusal = assertThrows(Refusal.class, range::next);
    assertEquals("identity: all 3 numbers are in use", refusal.getMessage());
  }

  @Test
  void shouldGiveTheNumberAfterOneThatWasTaken() {
    range.take(12);
    assertEquals(13, range.next());
    assertEquals(11, range.next());
    assertThrows(Refusal.class, range::next);
  }

  /** All numbers from the cursor to the end are in use: the search begins again. */
  @Test
  void shouldNotLeaveTheRangeWhereItsEndIsInUse() {
    range.take(13);
    assertEquals(11, range.next());
    assertEquals(12, range.next());
    range.free(11);
    assertEquals(11, range.next());
  }

  @Test
  void shouldRefuseNumbersOutsideTheRange() {
    assertThrows(Refusal.class, () -> range.take(10));
    assertThrows(Refusal.class, () -> range.take(14));
    range.take(11);
    range.take(13);
    assertEquals(12, range.next());
  }

  @Test
  void shouldSortLabelsBySourceAndKey() {
    assertEquals(
        List.of("a:k", "a-b:k"),
        LabelSet.of(List.of(Label.parse("a-b:k"), Label.parse("a:k"))).toStrings());
    assertEquals(
        List.of("unspec:a=1", "unspec:b=2"),
        LabelSet.parseUser("labels", List.of("b=2", "a=1")).toStrings());
  }

  @Test
  void shouldNamePatternsAndReadAllOfAList() {
    final List<LabelPattern> patterns =
        LabelPattern.parseAll("labels", List.of("app=web", "k8s:x"));
    assertEquals(List.of("any:app", "k8s:x"), patterns.stream().map(LabelPattern::name).toList());
  }

  /** Of an inclusion and an exclusion of the same label the exclusion counts. */
  @Test
  void shouldPreferAnExclusionToAnInclusionOfTheSameLength() {
    final LabelFilter filter = LabelFilter.of(List.of("app", "!app", "tier"));
    final LabelSet labels = LabelSet.parse("labels", List.of("app=web", "tier=front"));
    assertEquals(List.of("unspec:tier=front"), filter.split(labels).identity().toStrings());
    assertThrows(Refusal.class, () -> LabelFilter.of(List.of("=x")));
  }

  @Test
  void shouldShowTheDigestOfItsLabels() {
    final Identity identity = new Identity(300, LabelSet.parse("labels", List.of("app=web")));
    assertEquals(identity.labels().sha256(), identity.labelsSha256());
    assertEquals(64, identity.labelsSha256().length());
    assertEquals(1, ReservedIdentity.HOST.id());
    assertEquals(10, ReservedIdentity.WORLD_IPV6.id());
  }
}
