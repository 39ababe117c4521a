package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EntrySourceTest {
  @ParameterizedTest
  @ValueSource(
      strings = {"api", "cluster", "orch", "file:shop.yaml", "file:n\u00e4her 2", "runtime:crio"})
  void shouldShowASourceAsItIsWritten(String text) {
    assertEquals(text, new EntrySource(text).toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "API",
        "apis",
        "etcd",
        "file:",
        "file:a/b",
        "file:a\nb",
        "file:\u202ea",
        "runtime:",
        "runtime:A",
        " api",
        "cluster:x"
      })
  void shouldRefuseWhatIsNoSource(String text) {
    final Refusal refusal = assertThrows(Refusal.class, () -> new EntrySource(text));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals(
        "source: '" + text + "' is not api, cluster, orch, file:<name> or runtime:<kind>",
        refusal.getMessage());
  }

  @Test
  void shouldLetNoOtherSourceChangeItsEntries() {
    final EntrySource owner = new EntrySource("file:shop.yaml");
    owner.requireOf(
        new EntrySource("file:shop.yaml"), "id", () -> fail("it is asked for where it is refused"));
    final Refusal refusal =
        assertThrows(
            Refusal.class, () -> owner.requireOf(EntrySource.API, "id", () -> "endpoint 7"));
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    assertEquals("id: endpoint 7 belongs to source 'file:shop.yaml'", refusal.getMessage());
  }

  @Test
  void shouldTakeNamesOfFilesOfUpTo255Characters() {
    assertEquals(260, new EntrySource("file:" + "n".repeat(255)).text().length());
    assertThrows(Refusal.class, () -> new EntrySource("file:" + "n".repeat(256)));
  }
}
