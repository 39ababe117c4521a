package agent.server.handler;

import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.server.Answer;
import agent.server.AnswerBudget;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.Prefix;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.annotation.JsonDeserialize;

/** Routes of the prefilter. */
public final class PrefilterHandlers implements ApiHandler.Group {
  private static final int MOST_PREFIXES = 8_000_000;
  private static final int MANY_PREFIXES = 50_000;

  private final AnswerBudget budget = new AnswerBudget(MOST_PREFIXES, MANY_PREFIXES);
  private final Prefilter prefilter;

  /**
   * Creates the handlers.
   *
   * @param prefilter the prefilter
   */
  public PrefilterHandlers(Prefilter prefilter) {
    this.prefilter = prefilter;
  }

  private interface Change {
    PrefilterList apply(OptionalLong revision, List<Prefix> prefixes);
  }

  /**
   * The body of a change. Its prefixes are read one by one, without their texts.
   *
   * @param deny the prefixes
   * @param revision the revision that the client has read; null for any
   */
  record ChangeRequest(
      @JsonProperty("deny") @JsonDeserialize(contentUsing = PrefixReader.class) List<Prefix> deny,
      @JsonProperty("revision") Long revision) {}

  /** Reads a prefix. */
  static final class PrefixReader extends ValueDeserializer<Prefix> {
    @Override
    public Prefix deserialize(JsonParser parser, DeserializationContext context) {
      if (!parser.hasToken(JsonToken.VALUE_STRING)) {
        return (Prefix) context.handleUnexpectedToken(context.constructType(String.class), parser);
      }
      return Prefix.parse(parser.getString());
    }
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_PREFILTER, request -> answer(prefilter.get()));
    handlers.put(
        Route.PATCH_PREFILTER,
        request -> answer(change(request.body(ChangeRequest.class), prefilter::add)));
    handlers.put(
        Route.DELETE_PREFILTER,
        request -> answer(change(request.body(ChangeRequest.class), prefilter::remove)));
  }

  private static PrefilterList change(ChangeRequest request, Change change) {
    if (request.deny() == null) {
      throw ApiRequest.badBody("deny", "is missing, an array of CIDRs is expected");
    }
    final OptionalLong revision =
        request.revision() == null ? OptionalLong.empty() : OptionalLong.of(request.revision());
    return change.apply(revision, request.deny());
  }

  /**
   * Answers with a list. A long one is read again when the answer is written, so that an answer
   * that waits for its client does not keep a list that was replaced since.
   */
  private Answer answer(PrefilterList result) {
    final int size = result.deny().size();
    if (!budget.isLarge(size)) {
      return Answer.streamed(json -> writeTwice(json, result));
    }
    return Answer.streamed(
        json -> {
          try (AnswerBudget.Share _ = budget.take(size)) {
            writeTwice(json, prefilter.get());
          }
        });
  }

  private static void writeTwice(JsonGenerator json, PrefilterList list) {
    json.writeStartObject();
    json.writeName("spec");
    write(json, list);
    json.writeObjectPropertyStart("status");
    json.writeName("realized");
    write(json, list);
    json.writeEndObject();
    json.writeEndObject();
  }

  private static void write(JsonGenerator json, PrefilterList list) {
    json.writeStartObject();
    json.writeArrayPropertyStart("deny");
    for (final Prefix prefix : list.deny()) {
      json.writeString(prefix.toString());
    }
    json.writeEndArray();
    json.writeNumberProperty("revision", list.revision());
    json.writeEndObject();
  }
}
