package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.Refusal;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LabelFilterTest {
  private static List<String> counting(LabelFilter filter, String... labels) {
    return filter.split(LabelSet.parse("labels", List.of(labels))).identity().toStrings();
  }

  @Test
  void shouldLeaveOutWhatChangesWithEveryRollOut() {
    final LabelFilter.Split split =
        LabelFilter.defaults()
            .split(
                LabelSet.parse(
                    "labels",
                    List.of(
                        "app=web",
                        "k8s:pod-template-hash=1",
                        "k8s:io.kubernetes.pod.namespace=default",
                        "k8s:io.kubernetes.container.hash=1",
                        "k8s:app.kubernetes.io/name=x",
                        "k8s:kubernetes.io/hostname=x")));
    assertEquals(
        List.of(
            "k8s:app.kubernetes.io/name=x",
            "k8s:io.kubernetes.pod.namespace=default",
            "unspec:app=web"),
        split.identity().toStrings());
    assertEquals(
        List.of(
            "k8s:io.kubernetes.container.hash=1",
            "k8s:kubernetes.io/hostname=x",
            "k8s:pod-template-hash=1"),
        split.information().toStrings());
  }

  @Test
  void shouldCountOnlyWhatIsNamedOnceSomethingIsNamed() {
    assertEquals(
        List.of("unspec:app=web", "unspec:application=x"),
        counting(LabelFilter.of(List.of("app")), "app=web", "application=x", "tier=db"));
  }

  @Test
  void shouldCountEverythingElseWhenOnlyExclusionsAreNamed() {
    assertEquals(
        List.of("unspec:app=web"),
        counting(LabelFilter.of(List.of("!tier")), "app=web", "tier=db"));
  }

  @Test
  void shouldLetTheLongestEntryDecide() {
    final LabelFilter filter = LabelFilter.of(List.of("app", "!app.private", "app.private.not"));
    assertEquals(
        List.of("unspec:app=1", "unspec:app.private.not=3"),
        counting(filter, "app=1", "app.private=2", "app.private.not=3"));
  }

  @Test
  void shouldTellSourcesApart() {
    assertEquals(
        List.of("k8s:app=1"), counting(LabelFilter.of(List.of("k8s:app")), "k8s:app=1", "app=2"));
    assertEquals(
        List.of("unspec:app=2"), counting(LabelFilter.of(List.of("!k8s:")), "k8s:app=1", "app=2"));
  }

  @Test
  void shouldAlwaysCountReservedLabels() {
    assertEquals(
        List.of("reserved:init"), counting(LabelFilter.of(List.of("app")), "reserved:init"));
  }

  @Test
  void shouldTakeTheEntriesOfAFileInPlaceOfTheDefaults() {
    final LabelFilter filter =
        LabelFilter.of(
            Optional.of(List.of("k8s:pod-template-hash", "!tier")),
            List.of("app"),
            FixedIdentities.NONE);
    assertEquals(
        List.of("k8s:pod-template-hash=1", "unspec:app=web"),
        counting(filter, "k8s:pod-template-hash=1", "app=web", "tier=db", "other=x"));
    final Refusal refusal =
        assertThrows(
            Refusal.class,
            () -> LabelFilter.of(Optional.of(List.of("a=b")), List.of(), FixedIdentities.NONE));
    assertEquals("label-prefix-file: 'a=b' is not a label prefix", refusal.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "!", ":app", "app=web"})
  void shouldRefuseWhatIsNoPrefix(String text) {
    assertThrows(Refusal.class, () -> LabelFilter.of(List.of(text)));
  }
}
