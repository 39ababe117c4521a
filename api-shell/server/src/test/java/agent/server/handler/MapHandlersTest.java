package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.WireFormat;
import agent.maps.mirror.MapVisitor.DesiredAction;
import agent.maps.mirror.MapVisitor.MapSummary;
import agent.server.handler.MapHandlers.EntryWriter;
import agent.types.Refusal;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.json.JsonMapper;

/** A map and its entries as JSON. */
class MapHandlersTest {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();
  private static final MapSummary PINNED =
      new MapSummary("/sys/fs/bpf/m", "m", "hash", 4, 8, 1024, 3, 1, 0.25);
  private static final MapSummary UNPINNED =
      new MapSummary("", "m", "hash", 4, 8, 1024, 3, 1, 0.25);

  @Test
  void shouldShowWhereAMapIsPinnedOnlyWhereItIs() {
    final String rest = "\"pressure\":0.25,\"type\":\"hash\",\"value-size\":8}";
    final String start =
        "{\"entries\":3,\"flags\":1,\"key-size\":4,\"max-entries\":1024,\"name\":\"m\",";
    assertEquals(
        start + "\"path\":\"/sys/fs/bpf/m\"," + rest,
        MAPPER.writeValueAsString(MapHandlers.encode(PINNED)));
    assertEquals(start + rest, MAPPER.writeValueAsString(MapHandlers.encode(UNPINNED)));
  }

  @Test
  void shouldWriteTheMapThatEachEntryBelongsTo() {
    final StringWriter text = new StringWriter();
    try (JsonGenerator json = MAPPER.createGenerator(text)) {
      MapHandlers.write(
          json,
          "asked",
          (name, writer) -> {
            assertEquals("asked", name);
            writer.onMap(PINNED, 1_795_305_600_123L);
            assertTrue(writer.onEntry("k1", "v1", DesiredAction.OK, null), "go on");
            return writer.onEntry("k2", "v2", DesiredAction.INSERT, "ENOSPC");
          });
    }
    assertEquals(
        "{\"entries\":3,\"flags\":1,\"key-size\":4,\"max-entries\":1024,"
            + "\"mirrored-at\":\"2026-11-22T00:00:00.123Z\",\"name\":\"m\","
            + "\"path\":\"/sys/fs/bpf/m\",\"pressure\":0.25,\"type\":\"hash\",\"value-size\":8,"
            + "\"cache\":[{\"desired-action\":\"ok\",\"key\":\"k1\",\"value\":\"v1\"},"
            + "{\"desired-action\":\"insert\",\"key\":\"k2\",\"last-error\":\"ENOSPC\","
            + "\"value\":\"v2\"}]}",
        text.toString());
    final StringWriter unpinned = new StringWriter();
    try (JsonGenerator json = MAPPER.createGenerator(unpinned)) {
      new EntryWriter(json).onMap(UNPINNED, 0);
    }
    assertTrue(unpinned.toString().contains("\"name\":\"m\",\"pressure\""), unpinned.toString());
  }

  @Test
  void shouldRefuseAMapThatIsNotOpen() {
    try (JsonGenerator json = MAPPER.createGenerator(new StringWriter())) {
      final Refusal refusal =
          assertThrows(
              Refusal.class, () -> MapHandlers.write(json, "none", (name, writer) -> false));
      assertEquals(Refusal.Kind.NOT_FOUND, refusal.kind());
      assertEquals("map 'none' does not exist", refusal.reason());
    }
  }
}
