/** What tests of the API share: answers are held against the OpenAPI document. */
package agent.testkit.api;
