/**
 * What tests of the API share: answers are held against the OpenAPI document, and logs are
 * recorded.
 */
package agent.testkit.api;
