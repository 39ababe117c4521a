package agent.server.handler;

import agent.contract.WireFormat;
import agent.contract.datapath.MapListModel;
import agent.contract.datapath.MapModel;
import agent.maps.mirror.MapMirrors;
import agent.maps.mirror.MapVisitor;
import agent.maps.mirror.MapVisitor.DesiredAction;
import agent.maps.mirror.MapVisitor.MapSummary;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.Refusal;
import java.util.Map;
import java.util.function.BiPredicate;
import tools.jackson.core.JsonGenerator;

/** Routes of BPF maps and their contents. */
public final class MapHandlers implements ApiHandler.Group {
  private final MapMirrors mirrors;

  /**
   * Creates the handlers.
   *
   * @param mirrors the mirrors of the open maps
   */
  public MapHandlers(MapMirrors mirrors) {
    this.mirrors = mirrors;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.LIST_MAPS, request -> list());
    handlers.put(Route.GET_MAP, this::contents);
  }

  private Answer list() {
    return Answer.ok(
        new MapListModel(mirrors.describe().stream().map(MapHandlers::encode).toList()));
  }

  static MapModel encode(MapSummary map) {
    return new MapModel(
        map.entries(),
        (long) map.flags(),
        map.keySize(),
        (long) map.maxEntries(),
        map.name(),
        map.path().isEmpty() ? null : map.path(),
        map.pressure(),
        map.type(),
        map.valueSize());
  }

  private Answer contents(ApiRequest request) {
    final String name = request.path("name");
    return Answer.streamed(json -> write(json, name, mirrors::read));
  }

  /** Writes a map, which {@code read} visits; it returns false where there is none. */
  static void write(JsonGenerator json, String name, BiPredicate<String, MapVisitor> read) {
    if (!read.test(name, new EntryWriter(json))) {
      throw Refusal.notFound("name", "map '" + name + "' does not exist");
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  /** Writes the record of the map and then its entries one by one. */
  record EntryWriter(JsonGenerator json) implements MapVisitor {
    @Override
    public void onMap(MapSummary map, long mirroredAtMs) {
      json.writeStartObject();
      json.writeNumberProperty("entries", map.entries());
      json.writeNumberProperty("flags", map.flags());
      json.writeNumberProperty("key-size", map.keySize());
      json.writeNumberProperty("max-entries", map.maxEntries());
      json.writeStringProperty("mirrored-at", WireFormat.timestamp(mirroredAtMs));
      json.writeStringProperty("name", map.name());
      if (!map.path().isEmpty()) {
        json.writeStringProperty("path", map.path());
      }
      json.writeNumberProperty("pressure", map.pressure());
      json.writeStringProperty("type", map.type());
      json.writeNumberProperty("value-size", map.valueSize());
      json.writeArrayPropertyStart("cache");
    }

    @Override
    public boolean onEntry(
        CharSequence key, CharSequence value, DesiredAction action, String lastError) {
      json.writeStartObject();
      json.writeStringProperty("desired-action", action.text());
      json.writeStringProperty("key", key.toString());
      if (lastError != null) {
        json.writeStringProperty("last-error", lastError);
      }
      json.writeStringProperty("value", value.toString());
      json.writeEndObject();
      return true;
    }
  }
}
