// The notebook carries the address of this site, wherever the site is served.
(function (script) {
  var link = script.previousElementSibling;
  link.addEventListener("click", function (event) {
    event.preventDefault();
    fetch(link.href).then(function (answer) {
      if (!answer.ok) throw answer;
      return answer.text();
    }).then(function (text) {
      var here = text.split(script.dataset.address).join(new URL("../../", script.src).href);
      var copy = document.createElement("a");
      copy.href = URL.createObjectURL(new Blob([here], {type: "application/x-ipynb+json"}));
      copy.download = link.download;
      copy.click();
    }).catch(function () { location.href = link.href; });
  });
})(document.currentScript);
